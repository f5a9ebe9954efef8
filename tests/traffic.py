"""What hosts send over their links, as the kernel counts it."""

import json
import subprocess

from photofinish.runner.links import DEVICE


def sent(namespace: str) -> int:
    """Bytes that the host in that namespace has put on its link."""
    told = subprocess.run(["ip", "-n", namespace, "-s", "-j", "link", "show", DEVICE], capture_output=True, text=True,
                          check=True)
    return int(json.loads(told.stdout)[0]["stats64"]["tx"]["bytes"])
