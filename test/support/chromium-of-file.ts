import { afterAll } from 'vitest';
import { closeChromium } from './chromium.ts';

/** Runs for each test file. An `afterAll` of chromium.ts would run for the first file only that imports it. */
afterAll(closeChromium);
