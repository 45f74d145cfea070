import { useState } from 'preact/hooks'
import { hasToken } from '../api/rag'
import { type Client, CLIENTS, clientConfiguration, TOKEN } from '../parts/clients'
import { CodeText } from '../parts/code-text'
import { Tabs } from '../parts/tabs'
import { rag as text } from '../text/rag'
import { offered } from './dialogue'

/** Name of the server in clients. Another server of the project may have an entry there, too. */
const NAME = 'ziggurat-rag'

/** Configurations that connect clients to this server, if it serves them. The token of the person is not in them. */
export function UseInAssistant() {
  const [client, setClient] = useState<Client>(CLIENTS[0])
  if (!offered.value?.mcp) return null
  const configuration = clientConfiguration(client, location.origin, hasToken() ? TOKEN : null, NAME)
  return (
    <details class="rag-assistant">
      <summary>{text.use}</summary>
      <p class="hint">{text.useText}</p>
      <Tabs label={text.clients} tabs={CLIENTS.map((name) => ({ name, title: name }))} current={client} onChoose={(name) => setClient(name as Client)}>
        <CodeText text={configuration} label={client} />
        {hasToken() && <p class="hint">{text.tokenNote}</p>}
      </Tabs>
    </details>
  )
}
