"""What a kubelet answers of containers that are only said to run: their logs, a shell in them, what they use.

All of it follows from the Pod: the same Pod tells the same, whoever asks and however often.
"""
