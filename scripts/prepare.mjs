/** Programs, packages, generated and compiled code, without starting anything. */
import { installPrograms } from './programs.mjs';
import { compile, generate, installPackages } from './setup.mjs';

installPrograms();
installPackages();
generate();
compile();
