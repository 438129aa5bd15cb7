"""What a merge would do: two plans compared, and what else a change reaches."""
