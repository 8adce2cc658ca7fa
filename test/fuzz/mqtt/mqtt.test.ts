import { testSurvival } from './survival.ts';

testSurvival(10);
