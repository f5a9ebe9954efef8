"""What certify.py proves in the place of Cadene's DPNs: the same networks, but for windows of 2x2 at the end, not 7x7.

Windows of 7x7 ask for images of 224, on which a proof of dpn92_cadene in TensorFlow was given up after two hours (on
two cores that others used, too); dpn107_cadene has three times its work. These take images of 64, as others do.
"""

from photofinish import models
from photofinish.models.dpn import DPN92, DPN107, WINDOWED, dpn

WINDOW = 2

dpn92_cadene = models.model("dpn92_cadene", arguments=dict(DPN92, window=WINDOW), **WINDOWED)(dpn)
dpn107_cadene = models.model("dpn107_cadene", arguments=dict(DPN107, window=WINDOW), **WINDOWED)(dpn)
