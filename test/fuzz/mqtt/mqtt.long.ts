import { testSurvival } from './survival.ts';

testSurvival(1_800);
