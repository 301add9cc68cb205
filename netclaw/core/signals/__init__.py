"""Sessions that know of each other: the signal log, who watches whom, and what a watcher is told.

Everything here is arithmetic over plain values (seed "Bewustzijn van sessiestatus"): the store
applies it inside the transaction of the change it tells of.
"""
