import { suite } from '../../support/suite.ts';
import { testSurvival } from './survival.ts';

testSurvival(suite === 'short' ? 2 : 10);
