import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FilterTree } from '../../../src/protocol/mqtt/filter-tree.ts';

/** The rule of MQTT 4.7, level by level. */
function matches(filter: string, topic: string): boolean {
  const filterLevels = filter.split('/');
  const topicLevels = topic.split('/');
  if (topic.startsWith('$') && /^[+#]/.test(filter)) return false;
  for (const [index, level] of filterLevels.entries()) {
    if (level === '#') return true;
    if (index >= topicLevels.length) return false;
    if (level !== '+' && level !== topicLevels[index]) return false;
  }
  return filterLevels.length === topicLevels.length;
}

const level = fc.constantFrom('a', 'b', '', '$SYS');
const topic = fc.array(level, { minLength: 1, maxLength: 4 }).map((levels) => levels.join('/'));
const filter = fc
  .tuple(fc.array(fc.oneof(level, fc.constant('+')), { minLength: 0, maxLength: 4 }), fc.boolean())
  .map(([levels, hash]) => (hash || levels.length === 0 ? [...levels, '#'] : levels).join('/'));

test('the tree finds the filters that match a topic, and only those, also after removals', () => {
  fc.assert(
    fc.property(fc.uniqueArray(filter, { maxLength: 20 }), fc.array(topic), fc.nat(20), (filters, topics, removed) => {
      const tree = new FilterTree<string>();
      for (const entry of filters) tree.add(entry, entry);
      for (const entry of filters.slice(0, removed)) tree.remove(entry, entry);
      const left = filters.slice(removed);
      for (const entry of topics) {
        expect(tree.match(entry).sort()).toEqual(left.filter((candidate) => matches(candidate, entry)).sort());
      }
    }),
  );
});

test('a shared subscription matches by its filter without the share name', () => {
  const tree = new FilterTree<string>();
  tree.add('$share/workers/a/+', 'shared');
  expect(tree.match('a/b')).toEqual(['shared']);
  expect(tree.match('$share/workers/a/b')).toEqual([]);
});

test('a filter may have more values than a call has arguments', () => {
  const tree = new FilterTree<number>();
  for (let value = 0; value < 300_000; value += 1) tree.add('a', value);
  expect(tree.match('a')).toHaveLength(300_000);
});
