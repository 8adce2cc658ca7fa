/**
 * The module node:http without its import, which reads all exports and thereby loads the fetch and the WebSocket client
 * of Node: a third of the start of a worker thread.
 */
export const nodeHttp = process.getBuiltinModule('node:http');
