# Sincronización: la página de las fuentes y sus eventos.
sync-lead = De cada fila llega siempre su último estado; varios cambios seguidos pueden llegar como uno.
sync-empty = No hay nada que sincronizar
sync-empty-what = Una fuente se declara en el archivo de configuración; turno sync install pone el trigger:
sync-absent = La fuente { $name } espera su cola { $queue }, que todavía no existe
sync-down = El módulo no responde desde
sync-failing = { $count ->
    [one] Falló el último envío:
   *[other] Fallaron los últimos { $count } envíos:
}
sync-probe = Se prueba de nuevo
sync-table = Tabla
sync-key = Identidad
sync-watch = Columnas
sync-install = Así queda como dice la configuración:
sync-by-api = Sin triggers: la alimenta la API.
sync-refused = { $count ->
        [one] 1 cambio no pudo ser un evento, porque su clave no sirve
       *[other] { $count } cambios no pudieron ser eventos, porque sus claves no sirven
    }
sync-resync = Enviar de nuevo
sync-resync-key = Enviar de nuevo la clave
sync-resynced = { $key } va de nuevo
sync-events = Eventos de { $queue }
sync-events-empty = Nada sin terminar
sync-error = Último error
sync-decided = se decide al entregar
sync-nothing = nada que avisar
sync-all = Enviar todo de nuevo
sync-all-title = Enviar de nuevo todo { $name }
sync-all-what = { $count ->
        [one] Se envía de nuevo 1 clave de la tabla, y después las que se entregaron y ya no tienen fila.
       *[other] Se envían de nuevo { $count } claves de la tabla, y después las que se entregaron y ya no tienen fila.
    }
sync-all-many = Se envían de nuevo más de { $count } claves de la tabla, y después las que se entregaron y ya no tienen fila.
sync-all-sent = { $name } va de nuevo, de a poco
