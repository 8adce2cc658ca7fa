import type { AccessControlService } from './access-control/access-control-service.ts';
import type { AuthService } from './auth/auth-service.ts';
import type { BridgeService } from './bridges/bridge-service.ts';
import type { BrokerMetricsService } from './brokers/broker-metrics-service.ts';
import type { BrokerRuntimes } from './brokers/broker-runtimes.ts';
import type { BrokerService } from './brokers/broker-service.ts';
import type { CertificateService } from './certificates/certificate-service.ts';
import type { CertificateDeployer } from './certificates/deployment/certificate-deployer.ts';
import type { CertificateExpiry } from './certificates/expiry/certificate-expiry.ts';
import type { ListenerService } from './certificates/listener-service.ts';
import type { ClientService } from './clients/client-service.ts';
import type { ClientControlService } from './clients/control/client-control-service.ts';
import type { CloudBrokers } from './cloud-brokers/cloud-brokers.ts';
import type { ClusterLive } from './clusters/cluster-live.ts';
import type { ClusterService } from './clusters/cluster-service.ts';
import type { MessageService } from './messages/message-service.ts';
import type { ProjectService } from './projects/project-service.ts';
import type { StreamService } from './streams/stream-service.ts';
import type { TokenService } from './tokens/token-service.ts';
import type { TopicService } from './topic-tree/topic-service.ts';
import type { OrganisationService } from './users/organisation-service.ts';
import type { UserService } from './users/user-service.ts';

/** The services by name, as resolvers find them in the context. Filled by the composition root. */
export interface Services {
  readonly auth: AuthService;
  readonly users: UserService;
  readonly organisations: OrganisationService;
  readonly projects: ProjectService;
  readonly tokens: TokenService;
  readonly brokers: BrokerService;
  readonly cloudBrokers: CloudBrokers;
  readonly runtimes: BrokerRuntimes;
  readonly metrics: BrokerMetricsService;
  readonly certificates: CertificateService;
  readonly certificateDeployer: CertificateDeployer;
  readonly certificateExpiry: CertificateExpiry;
  readonly listeners: ListenerService;
  readonly clients: ClientService;
  readonly clientControl: ClientControlService;
  readonly messages: MessageService;
  readonly accessControl: AccessControlService;
  readonly streams: StreamService;
  readonly bridges: BridgeService;
  readonly topics: TopicService;
  readonly clusters: ClusterService;
  readonly clusterLive: ClusterLive;
}
