"""Programs that run inside a lab to call submitted code. They use only the standard library and numpy."""
