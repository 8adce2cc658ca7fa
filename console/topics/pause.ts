/** Shortest time between two requests of the same query, in milliseconds: some topics change all the time. */
export const PAUSE_MS = 500;
