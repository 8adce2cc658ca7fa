export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** An object with `count` keys that no input type has, each about 8 bytes of JSON. */
export const keys = (count: number): Record<string, number> =>
  Object.fromEntries(times(count, (i) => [i.toString(36), 1]));

/** A query of a stream that writes the text of each sample 66 times. */
export const copies = (sample: string) => ({
  query: { select: times(66, (i) => ({ source: '[a]', target: `[t${i}]` })) },
  samples: [{ a: sample }],
});

export const previews = (count: number): string =>
  `query ($query: JSON!, $samples: [JSON!]!) { ${times(
    count,
    (i) => `p${i}: previewStream(query: $query, samples: $samples) { results { outcome payload output } }`,
  ).join(' ')} }`;
