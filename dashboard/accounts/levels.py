"""How much somebody may do with a source or a dashboard."""

NOTHING, SEE, CHANGE = "none", "see", "change"
LEVELS = {SEE: "may see it", CHANGE: "may see and change it"}
FOR_ALL = [
    (NOTHING, "Only those named below"),
    (SEE, "Everyone may see it"),
    (CHANGE, "Everyone may see it, and every editor may change it"),
]
