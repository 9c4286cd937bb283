"""Where traces of a session share a clock (its UUID), but each measured the distance to the epoch itself:

babeltrace2 uses each trace's own origin, yore the first trace's for all. The comparisons beside this
file move babeltrace2's times by what Origins.shift() gives.
"""


def origin_of(clock):
    """(UUID, ns of the origin) of a bt2 clock class; None where the clock has no UUID."""
    if clock is None or not clock.uuid:
        return None
    return str(clock.uuid), clock.offset.seconds * 10**9 + clock.offset.cycles * 10**9 // clock.frequency


class Origins:
    """The origin of each clock in the first trace that has it."""

    def __init__(self):
        self._first = {}

    def shift(self, origin):
        """The ns to add to times of a clock with this origin_of(); traces come in yore's order."""
        if origin is None:
            return 0
        uuid, ns = origin
        return self._first.setdefault(uuid, ns) - ns
