import type { JsonSchema } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed } from '../../gateway/rest/schemas.ts';

export const BRIDGES: JsonSchema = {
  type: 'array',
  items: closed(
    {
      id: { type: 'string', description: 'As `mqtt-bridge`.' },
      isActive: { ...BOOLEAN, description: 'False: it is not configured.' },
    },
    { title: 'Bridge' },
  ),
};

export const BRIDGE_CONFIG: JsonSchema = {
  type: 'object',
  title: 'BridgeConfig',
  description: 'As the schema of the bridge says; `***` stands for a secret, and keeps it.',
  examples: [
    {
      connections: [
        {
          name: 'headquarters',
          url: 'mqtts://broker.example.com:8883',
          username: 'plant',
          password: 'a password',
          topics: [{ pattern: 'plant/#', direction: 'out', qos: 1 }],
        },
      ],
    },
  ],
};

export const BRIDGE_STATUS: JsonSchema = {
  type: ['array', 'object'],
  title: 'BridgeStatus',
  description:
    'As the bridge tells it: usually one entry for each connection, with `connectionName` and `isConnected`.',
};
