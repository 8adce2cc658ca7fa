import { seed } from './budget.ts';
import { testComparison } from './comparison.ts';

testComparison(1_800, seed);
