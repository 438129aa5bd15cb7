"""Two revisions side by side: what differs (`compare`), and its printers. All of them read `view.DiffView`."""
