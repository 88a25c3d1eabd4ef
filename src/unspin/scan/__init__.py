"""The detectors of the live guard over transcripts: any pile of sessions on disk.

``source`` opens what people point at, ``readers`` turn one format each into events,
``scanning`` feeds them to a guard and adds up what came of it, ``budget`` says where a
budget would have stopped a run. Nothing in here decides what a loop is.
"""
