/** Bits that state which topics of a subtree match: none, the node's own topic, possibly some below, or all. */
export const NOTHING = 0;
export const ITSELF = 1;
export const BELOW = 2;
export const ALL = 4 | BELOW | ITSELF;

export const ANY = -2;

/** A condition on topics that is evaluated level by level, so that the levels above many topics are evaluated once. */
export interface Matching {
  /** Called after names may have been renumbered. */
  renew(): void;
  /**
   * Returns the match bits of a node, whose ancestors must have been entered before. `depth` is 0 on the first level.
   */
  enter(node: number, name: number, depth: number): number;
  /** The only name that can match at a depth. ANY if several can match, NONE if none can. */
  only(depth: number): number;
}
