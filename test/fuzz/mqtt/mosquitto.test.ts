import { seedOr } from './budget.ts';
import { testComparison } from './comparison.ts';

/** The same sequences in each run. Long runs, which have their own seed, find further differences. */
testComparison(10, seedOr(33));
