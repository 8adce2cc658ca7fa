/** What a question wants of a node and those below it, as bits. */
export const NOTHING = 0;
/** Its own topic. */
export const ITSELF = 1;
/** Some of those below, perhaps. */
export const BELOW = 2;
/** All: its own topic, and each below. */
export const ALL = 4 | BELOW | ITSELF;

/** Any name. */
export const ANY = -2;

/** A condition on topics that is told level by level, so that what is above many topics is looked at once. */
export interface Matching {
  /** Names may have other numbers since it was asked last. */
  renew(): void;
  /** What is wanted of a node, by its name; `depth` is 0 on the first level. Asked for the nodes above it before. */
  enter(node: number, name: number, depth: number): number;
  /** The one name that can match at a depth; ANY: several, NONE: none. */
  only(depth: number): number;
}
