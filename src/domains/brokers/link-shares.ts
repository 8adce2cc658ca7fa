interface LinkClaim {
  readonly id: string;
  readonly projectId: string;
  readonly owner: string;
  /** Whether this service runs the broker, which then always has a link. */
  readonly isOwn: boolean;
}

const GRANTED = { isGranted: true, evicted: null };
const WAITING = { isGranted: false, evicted: null };

/**
 * Decides which brokers have a link if there are more brokers than links. Owners of projects have equal shares, and so
 * have the projects of an owner. If no link is free, a broker gets a link of the owner with the most links, unless its
 * own owner would then have more; the same applies between projects of one owner. The link that has been down longest
 * is taken, or else the newest. A free link goes to the waiting broker whose owner, and then project, has the fewest
 * links.
 */
export class LinkShares {
  readonly #maxLinks: number;
  readonly #downMs: (id: string) => number;
  readonly #held = new Map<string, LinkClaim>();
  readonly #waiting = new Map<string, LinkClaim>();

  constructor(maxLinks: number, downMs: (id: string) => number) {
    this.#maxLinks = maxLinks;
    this.#downMs = downMs;
  }

  /** Whether a broker waits for a link. */
  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  holds(id: string): boolean {
    return this.#held.has(id);
  }

  claim(claim: LinkClaim): { readonly isGranted: boolean; readonly evicted: string | null } {
    if (this.#held.has(claim.id)) return GRANTED;
    this.#waiting.delete(claim.id);
    if (this.#held.size < this.#maxLinks) {
      this.#held.set(claim.id, claim);
      return GRANTED;
    }
    const victim = this.#victimFor(claim);
    if (victim === null && !claim.isOwn) {
      this.#waiting.set(claim.id, claim);
      return WAITING;
    }
    this.#held.set(claim.id, claim);
    if (victim === null) return GRANTED;
    this.#held.delete(victim.id);
    this.#waiting.set(victim.id, victim);
    return { isGranted: true, evicted: victim.id };
  }

  /** Releases the link of a broker. Returns the broker that gets it; `null` if none waits. */
  release(id: string): string | null {
    this.#waiting.delete(id);
    if (!this.#held.delete(id) || this.#held.size >= this.#maxLinks) return null;
    const owners = countsOf(this.#held.values(), ({ owner }) => owner);
    const projects = countsOf(this.#held.values(), ({ projectId }) => projectId);
    const less = (counts: ReadonlyMap<string, number>, one: string, other: string) =>
      (counts.get(one) ?? 0) - (counts.get(other) ?? 0);
    const [next] = [...this.#waiting.values()].sort(
      (one, other) => less(owners, one.owner, other.owner) || less(projects, one.projectId, other.projectId),
    );
    if (next === undefined) return null;
    this.#waiting.delete(next.id);
    this.#held.set(next.id, next);
    return next.id;
  }

  #victimFor({ owner, projectId, isOwn }: LinkClaim): LinkClaim | null {
    const takeable = [...this.#held.values()].filter((held) => !held.isOwn);
    const ofOwner = takeable.filter((held) => held.owner === owner);
    const ofRichest = largestGroup(takeable, (held) => held.owner);
    const yields = isOwn || ofRichest.length > ofOwner.length + 1;
    if (yields) return this.#leastUseful(largestGroup(ofRichest, (held) => held.projectId));
    const ofProject = ofOwner.filter((held) => held.projectId === projectId);
    const ofOther = largestGroup(ofOwner, (held) => held.projectId);
    return ofOther.length > ofProject.length + 1 ? this.#leastUseful(ofOther) : null;
  }

  #leastUseful(claims: readonly LinkClaim[]): LinkClaim | null {
    let found: LinkClaim | null = null;
    let mostMs = 0;
    for (const claim of claims) {
      const downMs = this.#downMs(claim.id);
      // The longest time without a connection; of connected links the newest.
      if (downMs < mostMs || (downMs === mostMs && mostMs > 0)) continue;
      found = claim;
      mostMs = downMs;
    }
    return found;
  }
}

function largestGroup(claims: readonly LinkClaim[], groupOf: (claim: LinkClaim) => string): readonly LinkClaim[] {
  const counts = countsOf(claims, groupOf);
  let most = '';
  for (const [group, count] of counts) if (count > (counts.get(most) ?? 0)) most = group;
  return claims.filter((claim) => groupOf(claim) === most);
}

function countsOf(claims: Iterable<LinkClaim>, groupOf: (claim: LinkClaim) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const claim of claims) counts.set(groupOf(claim), (counts.get(groupOf(claim)) ?? 0) + 1);
  return counts;
}
