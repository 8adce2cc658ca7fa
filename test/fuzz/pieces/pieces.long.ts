import { secondsOr } from '../mqtt/budget.ts';
import { testPieces } from './pieces.ts';

testPieces(secondsOr(10));
