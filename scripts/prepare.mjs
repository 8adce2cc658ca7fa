/** Packages, generated and compiled code, without starting anything. */
import { compile, generate, installPackages } from './setup.mjs';

installPackages();
generate();
compile();
