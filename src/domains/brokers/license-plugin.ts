import { KNOWN_APIS } from '../../protocol/control/capability-probe.ts';
import { type ControlCaller, ControlRefusal, type PluginFactory } from '../../protocol/control/plugin.ts';
import { LICENSE_API, type LicenseInformation, NO_END } from './license-control.ts';

/** `cedalo/license` for brokers without a licence: open source, unlimited, with the available control APIs. */
export const licensePlugin: PluginFactory = {
  api: LICENSE_API,
  create: async ({ controls }) => ({
    api: LICENSE_API,
    async execute({ command }) {
      if (command.toLowerCase() !== 'getlicenseinformation') throw new ControlRefusal('Unknown command');
      return openSourceLicense(controls ? await servedApis(controls) : []);
    },
    close: () => undefined,
  }),
};

function openSourceLicense(features: readonly string[]): LicenseInformation {
  return {
    plan: 'open-source',
    edition: 'mosquitto',
    issuedBy: '',
    issuedTo: '',
    validSince: 0,
    validUntil: NO_END,
    features,
  };
}

async function servedApis(controls: ControlCaller): Promise<string[]> {
  const others = KNOWN_APIS.filter((api) => api !== LICENSE_API);
  const capabilities = await Promise.all(others.map((api) => controls.capability(api)));
  return capabilities.filter(({ provider }) => provider !== 'NONE').map(({ api }) => api);
}
