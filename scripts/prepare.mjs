/** Installs programs and packages, generates and compiles code. Starts nothing. */
import { installPrograms } from './programs.mjs';
import { compile, generate, installPackages } from './setup.mjs';

installPrograms();
installPackages();
generate();
compile();
