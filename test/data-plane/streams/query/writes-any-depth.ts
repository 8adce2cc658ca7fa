/** JSON.stringify of Node 26 (V8 14) writes values of any depth. Earlier versions throw at about 5,000 levels. */
export const WRITES_ANY_DEPTH = Number.parseInt(process.versions.node, 10) >= 26;
