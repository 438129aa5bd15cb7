"""The only code that runs Git. Others say `git.Repository`; what is behind it:

    location    URLs and folders: what Git may be asked to reach
    program     running the git program under a safe configuration
    private_dir a Git folder of ours over a repository whose configuration is not obeyed
    git_errors  what it complains of, in our words
    objects     trees and blobs of a commit
    history     names of commits, ancestors, versions of a file
    remote      fetch, ls-remote, push
    tracking    a branch of ours that a clone may have twice: which one is meant, and where it is written
    access      with which credentials: tokens, keys, authorities (`app`: tokens of a GitHub App)
    submodules  other repositories inside of one, as far as they are allowed
    write       commits on branches of ours
    gc          few packs out of many, in clones of ours
    worktree    the files of a checkout, for `--worktree`

Everything here blocks; the daemon calls it from a thread. One `Repository` may be used from several threads.
"""

from gitfed.edges.git import tracking
from gitfed.edges.git.access import Access
from gitfed.edges.git.history import CommitInfo
from gitfed.edges.git.location import check_url, find_root, forget_hook_environment, is_url, shown
from gitfed.edges.git.objects import CommitTree, PartOfTree, TreeChange, TreeEntry
from gitfed.edges.git.repository import Repository
from gitfed.edges.git.submodules import bring
from gitfed.edges.git.worktree import WorkTree

__all__ = [
    "Access",
    "CommitInfo",
    "CommitTree",
    "PartOfTree",
    "Repository",
    "TreeChange",
    "TreeEntry",
    "WorkTree",
    "bring",
    "check_url",
    "find_root",
    "forget_hook_environment",
    "is_url",
    "shown",
    "tracking",
]
