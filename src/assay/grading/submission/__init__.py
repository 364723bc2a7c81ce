"""From the bytes of a submission to arrays a metric can score. Start reading at `read.py`."""
