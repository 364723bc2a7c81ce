"""Any command-line agent inside the lab, with a metered model endpoint over a unix socket."""
