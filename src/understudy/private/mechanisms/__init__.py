"""One file per mechanism: its sensitivity, its event, its answer. All return integers with exact noise added."""
