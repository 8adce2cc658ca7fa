import { seedOr } from './budget.ts';
import { testComparison } from './comparison.ts';

/** The same sequences in each run: what differs between two brokers is found by the long runs, which have a seed of their own. */
testComparison(10, seedOr(33));
