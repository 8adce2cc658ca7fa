/**
 * What a run covers (TEST_SUITE). `short` is `npm test`: all domains on SQLite, one broker kind, a tenth of the runs of each property,
 * without the slow files. `rest` is what `short` leaves out. `all` is everything, and the default, so that a single file runs whole.
 */
type Suite = 'short' | 'rest' | 'all';

const { TEST_SUITE } = process.env;
export const suite: Suite = TEST_SUITE === 'short' || TEST_SUITE === 'rest' ? TEST_SUITE : 'all';

/** The broker kinds that the same tests run on. A short run uses the first one. */
export const brokerKinds = <const Kind extends string>(kinds: readonly Kind[]): readonly Kind[] =>
  suite === 'short' ? kinds.slice(0, 1) : kinds;

/** Number of runs of a property: in a short run a tenth, and at least 10. */
export const runs = (whole: number): number =>
  suite === 'short' ? Math.min(whole, Math.max(10, Math.ceil(whole / 10))) : whole;
