/** Bodies of webhooks for well-known receivers, as in docs/notifications.md. */
export const TEMPLATE_EXAMPLES = {
  Slack: `{"text": "{{#problems}}{{#isOpened}}:red_circle:{{/isOpened}}{{#isClosed}}:large_green_circle:{{/isClosed}} *{{slack.title}}*: {{slack.subject.name}} ({{severity}})\\n{{slack.detail}}{{^isLast}}\\n{{/isLast}}{{/problems}}"}`,
  Teams: `{
  "type": "message",
  "attachments": [{
    "contentType": "application/vnd.microsoft.card.adaptive",
    "content": {
      "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
      "type": "AdaptiveCard",
      "version": "1.4",
      "body": [
        {{#problems}}
        {"type": "TextBlock", "wrap": true, "weight": "bolder", "text": "{{change}}: {{title}}"},
        {"type": "TextBlock", "wrap": true, "text": "{{subject.name}} ({{severity}}): {{detail}}"}{{^isLast}},{{/isLast}}
        {{/problems}}
      ]
    }
  }]
}`,
  PagerDuty: `{
  "routing_key": "{{credentials.routingKey}}",
  "event_action": "{{#problem}}{{#isOpened}}trigger{{/isOpened}}{{#isClosed}}resolve{{/isClosed}}{{/problem}}",
  "dedup_key": "{{problem.id}}",
  "payload": {
    "summary": "{{problem.title}}: {{problem.subject.name}}",
    "source": "{{problem.subject.name}}",
    "severity": "{{#problem}}{{#isCritical}}critical{{/isCritical}}{{#isWarning}}warning{{/isWarning}}{{#isNotice}}info{{/isNotice}}{{/problem}}",
    "component": "{{problem.kind}}"
  }
}`,
  ntfy: `{
  "topic": "brokers",
  "title": "{{problem.title}}",
  "message": "{{#problems}}{{change}}: {{subject.name}}: {{detail}}{{^isLast}}\\n{{/isLast}}{{/problems}}",
  "priority": {{#problem}}{{#isCritical}}5{{/isCritical}}{{#isWarning}}4{{/isWarning}}{{#isNotice}}3{{/isNotice}}{{/problem}}
}`,
} as const;

export type TemplateExample = keyof typeof TEMPLATE_EXAMPLES;
