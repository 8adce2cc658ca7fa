import { installDeployTools } from '../setup.mjs';

installDeployTools();
