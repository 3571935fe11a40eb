package toolbox

// findLimit is how many tools a search lists unless asked for another number.
const findLimit = 8
