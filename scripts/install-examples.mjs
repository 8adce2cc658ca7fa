/** Installs the packages of `examples`, if they are missing. */
import { installExamples } from './setup.mjs';

installExamples();
