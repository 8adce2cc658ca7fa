import { expect, test } from 'vitest';
import { topicProblem } from '../../../src/protocol/mqtt/topics.ts';

test.each(['/', 'a/b c', '$SYS/x', 'ä/€/😀', '\ufeff', '~!"$%&\'()*,-.'])('%j is a topic', (topic) => {
  expect(topicProblem(topic)).toBeNull();
});

test.each([
  ['', 'must not be empty'],
  ['a'.repeat(65_536), 'must not exceed 65535 bytes'],
  ['€'.repeat(21_846), 'must not exceed 65535 bytes'],
  ['a/+', 'must not contain +, # or NUL'],
  ['a#', 'must not contain +, # or NUL'],
  ['a\0', 'must not contain +, # or NUL'],
  ['a\n', 'must not contain control characters, noncharacters or half surrogate pairs'],
  ['a\u0085', 'must not contain control characters, noncharacters or half surrogate pairs'],
  ['\uffff', 'must not contain control characters, noncharacters or half surrogate pairs'],
  ['\ud800', 'must not contain control characters, noncharacters or half surrogate pairs'],
])('%j is not a topic', (topic, problem) => {
  expect(topicProblem(topic)).toBe(problem);
});
