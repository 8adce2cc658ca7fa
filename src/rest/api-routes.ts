import { accessControlRoutes } from '../access-control/access-control-routes.ts';
import { bridgeRoutes } from '../bridges/bridge-routes.ts';
import { brokerRoutes } from '../brokers/broker-routes.ts';
import { certificateRoutes } from '../certificates/certificate-routes.ts';
import { clientRoutes } from '../clients/client-routes.ts';
import { clusterRoutes } from '../clusters/cluster-routes.ts';
import { projectRoutes } from '../projects/project-routes.ts';
import { signInRuleRoutes } from '../sign-in/rules/sign-in-rule-routes.ts';
import { streamRoutes } from '../streams/stream-routes.ts';
import { tokenRoutes } from '../tokens/token-routes.ts';
import { topicRoutes } from '../topic-tree/topic-routes.ts';
import { userRoutes } from '../users/user-routes.ts';
import type { Route } from './route.ts';

/** Every entry of the REST interface. */
export const apiRoutes: readonly Route[] = [
  ...projectRoutes,
  ...brokerRoutes,
  ...bridgeRoutes,
  ...certificateRoutes,
  ...clusterRoutes,
  ...clientRoutes,
  ...accessControlRoutes,
  ...streamRoutes,
  ...topicRoutes,
  ...tokenRoutes,
  ...userRoutes,
  ...signInRuleRoutes,
];
