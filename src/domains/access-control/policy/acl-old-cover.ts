/**
 * Whether an ACL's filter allows a subscription, as dynamic security before 2.1 compares them (sub_matches_sub.c): a last `#` is
 * taken off both, so that `#` and `/#` become the same empty level, and wildcards stand for `$` too.
 */
export function oldFilterCovers(filter: string, subscription: string): boolean {
  if (filter === '#') return true;
  const rule = levelsOf(filter);
  const asked = levelsOf(subscription);
  if (asked.endsInHash && !rule.endsInHash) return false;
  if (rule.levels.length > asked.levels.length) return false;
  if (asked.levels.length > rule.levels.length && !rule.endsInHash) return false;
  return rule.levels.every((level, index) => level === '+' || level === asked.levels[index]);
}

function levelsOf(filter: string): { levels: string[]; endsInHash: boolean } {
  const levels = filter.split('/');
  if (levels.at(-1) !== '#') return { levels, endsInHash: false };
  levels.pop();
  return { levels: levels.length === 0 ? [''] : levels, endsInHash: true };
}
