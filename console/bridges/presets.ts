/** What a service for MQTT requires of a connection. */
interface Preset {
  /** Of its addresses. `null`: any other one. */
  readonly host: RegExp | null;
  readonly scheme: 'mqtt' | 'mqtts';
  readonly port: number;
  readonly example: string;
  /** How it knows the connection, in the order of the form. */
  readonly credentials: readonly ('username' | 'password' | 'clientId' | 'cert' | 'key')[];
  readonly needsCredentials: boolean;
}

const TLS = { scheme: 'mqtts', port: 8883, needsCredentials: true } as const;

export const PRESETS = {
  MOSQUITTO: {
    host: null,
    scheme: 'mqtt',
    port: 1883,
    example: 'broker.example.com',
    credentials: ['username', 'password'],
    needsCredentials: false,
  },
  AWS: {
    ...TLS,
    host: /\.amazonaws\.com(\.cn)?$/,
    example: 'a1b2c3d4-ats.iot.eu-central-1.amazonaws.com',
    credentials: ['clientId', 'cert', 'key'],
  },
  AZURE: {
    ...TLS,
    host: /\.eventgrid\.azure\.net$/,
    example: 'plant.westeurope-1.ts.eventgrid.azure.net',
    credentials: ['clientId', 'username', 'cert', 'key'],
  },
  HIVEMQ: {
    ...TLS,
    host: /\.hivemq\.cloud$/,
    example: 'a1b2c3d4.s1.eu.hivemq.cloud',
    credentials: ['username', 'password'],
  },
} satisfies Readonly<Record<string, Preset>>;

export type PresetKey = keyof typeof PRESETS;
export const PRESET_KEYS = Object.keys(PRESETS) as readonly PresetKey[];

/** The preset of a stored address. */
export function presetOf(url: string): PresetKey {
  const host = URL.canParse(url) ? new URL(url).hostname : '';
  return PRESET_KEYS.find((key) => PRESETS[key].host?.test(host)) ?? 'MOSQUITTO';
}
