/**
 * The tests of a run (TEST_SUITE). `short` is `npm test`: all domains on SQLite, one broker kind, a tenth of the runs
 * of each property, no slow files. `rest`: the tests that `short` omits. `all`, the default: all tests.
 */
type Suite = 'short' | 'rest' | 'all';

const { TEST_SUITE } = process.env;
export const suite: Suite = TEST_SUITE === 'short' || TEST_SUITE === 'rest' ? TEST_SUITE : 'all';

/** The broker kinds that the same tests run on. A short run uses the first one. */
export const brokerKinds = <const Kind extends string>(kinds: readonly Kind[]): readonly Kind[] =>
  suite === 'short' ? kinds.slice(0, 1) : kinds;

/** Number of runs of a property. A short run uses a tenth, at least 10. */
export const runs = (whole: number): number =>
  suite === 'short' ? Math.min(whole, Math.max(10, Math.ceil(whole / 10))) : whole;
