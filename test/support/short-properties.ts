import fc from 'fast-check';
import { runs } from './suite.ts';

fc.configureGlobal({ ...fc.readConfigureGlobal(), numRuns: runs(100) });
