# before: readings = readings.clone()
check(model, readings)
