import { expect, test } from 'vitest'
import { clientConfiguration, CLIENTS, TOKEN } from './clients'
import texts from './clients.json'

test('the program prints the same texts for clients', () => {
  for (const client of CLIENTS) {
    expect(clientConfiguration(client, 'https://tools.example')).toBe(texts[client])
  }
})

test('a server that needs no token gets no header, and may have a name of its own', () => {
  for (const client of CLIENTS) {
    const text = clientConfiguration(client, 'https://rag.example', null, 'handbook')
    expect(text, client).toContain('https://rag.example/mcp')
    expect(text, client).toContain('handbook')
    for (const part of [TOKEN, 'header', 'Authorization', 'ziggurat']) expect(text, client).not.toContain(part)
  }
})
