/** Stands where an API token belongs. */
export const TOKEN = '<the token>'

const NAME = 'ziggurat'

/** Clients of the protocol that have a configuration for this server. */
export const CLIENTS = ['Claude Code', 'Cursor', 'VS Code'] as const

export type Client = (typeof CLIENTS)[number]

/** Writes the configuration that makes this server known to a client. */
export function clientConfiguration(client: Client, origin: string, token = TOKEN): string {
  const server = { url: `${origin}/mcp`, headers: { Authorization: `Bearer ${token}` } }
  switch (client) {
    case 'Claude Code':
      return `claude mcp add --transport http ${NAME} ${quoted(server.url)} --header ${quoted(`Authorization: Bearer ${token}`)}`
    case 'Cursor':
      return JSON.stringify({ mcpServers: { [NAME]: server } }, null, 2)
    case 'VS Code':
      return JSON.stringify({ servers: { [NAME]: { type: 'http', ...server } } }, null, 2)
  }
}

/** Quotes a word for a POSIX shell. */
export const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`
