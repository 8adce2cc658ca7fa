import { secondsOr } from '../mqtt/budget.ts';
import { testPieces } from './pieces.ts';
import { TARGETS } from './targets.ts';

/** One minute for all parsers together. */
testPieces(secondsOr(60) / TARGETS.length);
