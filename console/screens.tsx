import type { ComponentType } from 'react';
import { later } from './ui/later.ts';

type Load = () => Promise<ComponentType>;

/** A screen of the whole service. */
interface Screen {
  readonly path: string;
  readonly Screen: ComponentType;
}

/** A screen of one broker, below `/brokers/:broker`. `key` is in the address, and in the catalogue of `broker`. */
interface BrokerScreen<Key extends string> {
  readonly key: Key;
  readonly Screen: ComponentType;
}

const screen = (path: string, load: Load): Screen => ({ path, Screen: later(load) });
const ofBroker = <Key extends string>(key: Key, load: Load): BrokerScreen<Key> => ({ key, Screen: later(load) });

/** A screen of one project, below `/projects/:project`. `key` is in the address, and in the catalogue of `project`. */
const ofProject = ofBroker;

/** Each is loaded when it is first opened. */
export const SCREENS = [
  screen('/', async () => (await import('./fleet/fleet.tsx')).Fleet),
  screen('/people/:user?', async () => (await import('./people/people.tsx')).People),
  screen('/account', async () => (await import('./own-account/own-account.tsx')).OwnAccount),
  screen('/explorer', async () => (await import('./explorer/explorer.tsx')).Explorer),
  screen(
    '/notifications/*?',
    async () => (await import('./notifications/service-notifications.tsx')).ServiceNotifications,
  ),
  screen('/service', async () => (await import('./service/service.tsx')).Service),
  screen('/organizations', async () => (await import('./organizations/organizations.tsx')).Organizations),
  screen('/audit', async () => (await import('./audit/service-audit.tsx')).ServiceAudit),
];

/** In the order of the menu, the most used first. The first is shown at `/brokers/:broker`. */
export const BROKER_SCREENS = [
  ofBroker('overview', async () => (await import('./overview/overview.tsx')).Overview),
  ofBroker('clients', async () => (await import('./client-page/clients.tsx')).Clients),
  ofBroker('refusals', async () => (await import('./refusals/refusals.tsx')).Refusals),
  ofBroker('topics', async () => (await import('./topics/topics.tsx')).Topics),
  ofBroker('messages', async () => (await import('./messages/messages.tsx')).Messages),
  ofBroker('access', async () => (await import('./give-access/access-screen.tsx')).AccessScreen),
  ofBroker('why', async () => (await import('./explain/why.tsx')).Why),
  ofBroker('events', async () => (await import('./events/broker-events.tsx')).BrokerEvents),
  ofBroker('streams', async () => (await import('./streams/streams.tsx')).Streams),
  ofBroker('bridges', async () => (await import('./bridges/bridges.tsx')).Bridges),
] as const;

/** In the order of the menu. The first is shown at `/projects/:project`. */
export const PROJECT_SCREENS = [
  ofProject('settings', async () => (await import('./project/settings.tsx')).Settings),
  ofProject('problems', async () => (await import('./project-problems/problems.tsx')).Problems),
  ofProject('silences', async () => (await import('./project-problems/silences.tsx')).Silences),
  ofProject('notifications', async () => (await import('./notifications/notifications.tsx')).Notifications),
  ofProject('members', async () => (await import('./project/members.tsx')).Members),
  ofProject('tokens', async () => (await import('./project/tokens.tsx')).Tokens),
  ofProject('rules', async () => (await import('./project/rules.tsx')).Rules),
  ofProject('certificates', async () => (await import('./certificates/certificates.tsx')).Certificates),
  ofProject('passwords', async () => (await import('./access/project-passwords.tsx')).ProjectPasswords),
  ofProject('clusters', async () => (await import('./clusters/clusters.tsx')).Clusters),
  ofProject('events', async () => (await import('./events/project-events.tsx')).ProjectEvents),
  ofProject('audit', async () => (await import('./audit/project-audit.tsx')).ProjectAudit),
] as const;

type ProjectScreen = (typeof PROJECT_SCREENS)[number];

/** Those that the viewer may read. */
export function projectScreensOf(may: {
  readonly viewerCanReadAudit: boolean;
  readonly viewerCanManageNotifications: boolean;
}): readonly ProjectScreen[] {
  const isOffered: Partial<Record<ProjectScreen['key'], boolean>> = {
    audit: may.viewerCanReadAudit,
    passwords: may.viewerCanReadAudit,
    notifications: may.viewerCanManageNotifications,
  };
  return PROJECT_SCREENS.filter(({ key }) => isOffered[key] !== false);
}
